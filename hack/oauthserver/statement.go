package main

import (
	"context"
	"crypto/rsa"
	"errors"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// keyset is the one key that signatures are made with.
type keyset struct{ key *rsa.PublicKey }

func (k keyset) VerifySignature(_ context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
	return jws.Verify(k.key)
}

// verified reads a signed statement into claims, if it is of that kind, by that issuer, for that audience, signed with that key by RS256, and current.
func verified(text, header string, claims oidc.Claims, issuer, audience string, key *rsa.PublicKey) error {
	algorithms := []string{string(jose.RS256)}
	jws, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return err
	}
	if jws.Signatures[0].Protected.ExtraHeaders[jose.HeaderType] != header {
		return errors.New("it is a statement of another kind")
	}
	payload, err := oidc.ParseToken(text, claims)
	if err != nil {
		return err
	}
	return errors.Join(
		oidc.CheckSignature(context.Background(), text, payload, claims, algorithms, keyset{key}),
		oidc.CheckIssuerWithISSVerifier(claims, issuer, nil),
		oidc.CheckAudience(claims, audience),
		oidc.CheckSubject(claims),
		oidc.CheckExpiration(claims, 0),
		oidc.CheckIssuedAt(claims, 0, 0),
	)
}
