package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/crypto"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	clientID     = "toolcall-operator"
	clientSecret = "the secret of the client: +/=&"
	user         = "alice"
	keyID        = "provider-1"

	assertionType     oidc.TokenType = "urn:ietf:params:oauth:token-type:id-jag"
	assertionHeader                  = "oauth-id-jag+jwt"
	assertionLifetime                = 5 * time.Minute
	refreshLifetime                  = 24 * time.Hour
)

// provider knows the user: it renews its tokens, and states to other authorization servers whose they are.
type provider struct {
	op.UnimplementedServer
	issuer  string
	key     *rsa.PrivateKey
	access  issued[login]
	refresh issued[login]
}

// login is a user at a client, and for how long each of its tokens is good.
type login struct {
	client, user string
	lifetime     time.Duration
}

// assertion is an identity assertion for another authorization server:
// https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/
type assertion struct {
	oidc.TokenClaims
	Resource string                   `json:"resource"`
	Scope    oidc.SpaceDelimitedArray `json:"scope,omitempty"`
}

func newProvider(issuer string) (*provider, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	return &provider{issuer: issuer, key: key}, err
}

// client is the one there is: it authenticates itself in the form, and may do what is done here.
type client struct{ op.Client }

func (client) GetID() string               { return clientID }
func (client) AuthMethod() oidc.AuthMethod { return oidc.AuthMethodPost }
func (client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeRefreshToken, oidc.GrantTypeTokenExchange}
}

func (p *provider) VerifyClient(_ context.Context, r *op.Request[op.ClientCredentials]) (op.Client, error) {
	known := r.Data.ClientID == clientID && r.Header.Get("Authorization") == ""
	if !known || subtle.ConstantTimeCompare([]byte(r.Data.ClientSecret), []byte(clientSecret)) == 0 {
		return nil, oidc.ErrInvalidClient()
	}
	return client{}, nil
}

func (p *provider) Keys(context.Context, *op.Request[struct{}]) (*op.Response, error) {
	key := jose.JSONWebKey{Key: &p.key.PublicKey, KeyID: keyID, Algorithm: string(jose.RS256), Use: "sig"}
	return op.NewResponse(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}}), nil
}

func (p *provider) described() *oidc.DiscoveryConfiguration {
	about := described(p.issuer, oidc.GrantTypeRefreshToken, oidc.GrantTypeTokenExchange)
	about.JwksURI = p.issuer + keysPath
	return about
}

// RefreshToken rotates: a refresh token is good for one use.
func (p *provider) RefreshToken(_ context.Context, r *op.ClientRequest[oidc.RefreshTokenRequest]) (*op.Response, error) {
	who, good := p.refresh.take(r.Data.RefreshToken)
	if !good || who.client != r.Client.GetID() {
		return nil, oidc.ErrInvalidGrant()
	}
	tokens, err := p.tokens(who)
	if err != nil {
		return nil, err
	}
	return op.NewResponse(tokens), nil
}

// tokens are a new set of them.
func (p *provider) tokens(who login) (*oidc.AccessTokenResponse, error) {
	access, err := p.access.issue("idp_access_", who, who.lifetime)
	if err != nil {
		return nil, err
	}
	refresh, err := p.refresh.issue("idp_refresh_", who, refreshLifetime)
	if err != nil {
		return nil, err
	}
	identity, err := p.signed("JWT", &oidc.IDTokenClaims{TokenClaims: p.claims(who, who.client, who.lifetime)})
	if err != nil {
		return nil, err
	}
	return &oidc.AccessTokenResponse{
		AccessToken: access, TokenType: oidc.BearerToken, RefreshToken: refresh, ExpiresIn: uint64(who.lifetime.Seconds()), IDToken: identity,
	}, nil
}

func (p *provider) TokenExchange(_ context.Context, r *op.ClientRequest[oidc.TokenExchangeRequest]) (*op.Response, error) {
	asked := r.Data
	if asked.RequestedTokenType != assertionType || len(asked.Audience) != 1 || len(asked.Resource) != 1 || asked.ActorToken != "" {
		return nil, oidc.ErrInvalidRequest()
	}
	who, good := p.subject(asked)
	if !good || who.client != r.Client.GetID() {
		return nil, oidc.ErrInvalidRequest() // https://www.rfc-editor.org/rfc/rfc8693#section-2.2.2
	}
	stated := &assertion{p.claims(who, asked.Audience[0], assertionLifetime), asked.Resource[0], asked.Scopes}
	stated.ClientID = who.client
	text, err := p.signed(assertionHeader, stated)
	if err != nil {
		return nil, err
	}
	return op.NewResponse(&oidc.TokenExchangeResponse{
		AccessToken: text, IssuedTokenType: assertionType, TokenType: "N_A", ExpiresIn: uint64(assertionLifetime.Seconds()), Scopes: asked.Scopes,
	}), nil
}

// subject is whose token is exchanged; a token counts as what it is said to be, and as nothing else.
func (p *provider) subject(asked *oidc.TokenExchangeRequest) (login, bool) {
	switch asked.SubjectTokenType {
	case oidc.AccessTokenType:
		return p.access.about(asked.SubjectToken)
	case oidc.IDTokenType:
		claims := &oidc.IDTokenClaims{}
		err := verified(asked.SubjectToken, "JWT", claims, p.issuer, clientID, &p.key.PublicKey)
		return login{client: clientID, user: claims.Subject}, err == nil
	default:
		return login{}, false
	}
}

func (p *provider) claims(who login, audience string, lifetime time.Duration) oidc.TokenClaims {
	now := time.Now()
	return oidc.TokenClaims{
		Issuer: p.issuer, Subject: who.user, Audience: oidc.Audience{audience}, JWTID: rand.Text(),
		IssuedAt: oidc.FromTime(now), Expiration: oidc.FromTime(now.Add(lifetime)),
	}
}

func (p *provider) signed(header jose.ContentType, claims any) (string, error) {
	key := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: keyID}}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType(header))
	if err != nil {
		return "", err
	}
	return crypto.Sign(claims, signer)
}
