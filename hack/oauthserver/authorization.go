package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	protectedResource = "/.well-known/oauth-protected-resource"
	bearerLifetime    = 10 * time.Minute
)

// authorizationServer takes what the provider states, and gives tokens for what it guards.
type authorizationServer struct {
	op.UnimplementedServer
	issuer   string
	provider *provider
	seen     issued[struct{}]
	tokens   issued[access]
}

// access is what a token opens, and for whom.
type access struct {
	User     string   `json:"user"`
	Client   string   `json:"client"`
	Resource string   `json:"resource"`
	Scopes   []string `json:"scopes"`
}

func newAuthorizationServer(issuer string, provider *provider) *authorizationServer {
	return &authorizationServer{issuer: issuer, provider: provider}
}

// JWTProfile gives a token for an assertion that is meant for this server, once.
func (a *authorizationServer) JWTProfile(_ context.Context, r *op.Request[oidc.JWTProfileGrantRequest]) (*op.Response, error) {
	stated := &assertion{}
	if err := verified(r.Data.Assertion, assertionHeader, stated, a.provider.issuer, a.issuer, &a.provider.key.PublicKey); err != nil {
		return nil, oidc.ErrInvalidGrant()
	}
	if stated.JWTID == "" || a.seen.keep(stated.JWTID, struct{}{}, stated.GetExpiration()) != nil {
		return nil, oidc.ErrInvalidGrant()
	}
	scopes := slices.DeleteFunc(slices.Clone(r.Data.Scope), func(each string) bool { return slices.Contains(stated.Scope, each) })
	if len(scopes) > 0 {
		return nil, oidc.ErrInvalidScope()
	}
	token, err := a.tokens.issue("as_access_", access{stated.Subject, stated.ClientID, stated.Resource, r.Data.Scope}, bearerLifetime)
	if err != nil {
		return nil, err
	}
	return op.NewResponse(&oidc.AccessTokenResponse{
		AccessToken: token, TokenType: oidc.BearerToken, ExpiresIn: uint64(bearerLifetime.Seconds()), Scope: r.Data.Scope,
	}), nil
}

// metadata tells of issuers: https://www.rfc-editor.org/rfc/rfc8414#section-3
type metadata struct {
	op.UnimplementedMetadataServer
	site *site
}

func (m *metadata) AuthorizationServerMetadata(_ context.Context, r *op.Request[op.MetadataRequest]) (*op.Response, error) {
	if r.Data.IssuerPath == providerPath {
		return op.NewResponse(m.site.provider.described()), nil
	}
	if server, there := m.site.metadata[r.Data.IssuerPath]; there {
		return op.NewResponse(described(server.issuer, oidc.GrantTypeBearer)), nil
	}
	return nil, op.NewStatusError(oidc.ErrInvalidRequest(), http.StatusNotFound)
}

func described(issuer string, grants ...oidc.GrantType) *oidc.DiscoveryConfiguration {
	return &oidc.DiscoveryConfiguration{Issuer: issuer, TokenEndpoint: issuer + tokenPath, GrantTypesSupported: grants}
}

// describe tells of a resource: https://www.rfc-editor.org/rfc/rfc9728#section-3
func (s *site) describe(w http.ResponseWriter, r *http.Request) {
	if about, there := s.guarded[strings.TrimPrefix(r.URL.Path, protectedResource)]; there {
		answer(w, http.StatusOK, about)
		return
	}
	http.NotFound(w, r)
}

// use opens a resource to whoever has a token for it, and says to whom.
func (s *site) use(w http.ResponseWriter, r *http.Request) {
	if _, there := s.guarded[r.URL.Path]; !there {
		http.NotFound(w, r)
		return
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), oidc.PrefixBearer)
	opens, good := s.servers[serverPath].tokens.about(token)
	if !bearer || !good || opens.Resource != s.origin+r.URL.Path {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.origin+protectedResource+r.URL.Path+`"`)
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	answer(w, http.StatusOK, opens)
}

func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // whoever hung up does not need it
}
