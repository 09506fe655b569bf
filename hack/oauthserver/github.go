package main

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	appID          = "4711"
	installationID = "77"
	tokenLifetime  = time.Hour
	longestClaim   = 10 * time.Minute
)

// What the installation may touch, and how; levels from least to most.
var (
	repositories = []string{"site", "docs", "ops"}
	permissions  = map[string]string{"contents": "write", "metadata": "read", "issues": "read"}
	levels       = []string{"read", "write", "admin"}
)

// github gives tokens of one app's installation, as
// https://docs.github.com/en/rest/apps/apps#create-an-installation-access-token-for-an-app says.
type github struct {
	key    *rsa.PublicKey
	tokens issued[narrowed]
}

// narrowed is what a token may touch.
type narrowed struct {
	Repositories []string          `json:"repositories"`
	Permissions  map[string]string `json:"permissions"`
}

func newGitHub(keyFile string) (*github, error) {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(keyFile + " is no PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	public, is := key.(*rsa.PublicKey)
	if !is {
		return nil, errors.New(keyFile + " is no RSA key")
	}
	return &github{key: public}, nil
}

func (g *github) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /app/installations/{id}/access_tokens", g.token)
	mux.HandleFunc("GET /installation/repositories", g.use)
	return mux
}

func (g *github) token(w http.ResponseWriter, r *http.Request) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.Header.Get("User-Agent") == "" || r.Header.Get("Accept") != "application/vnd.github+json":
		refuse(w, http.StatusForbidden)
		return
	case !bearer || !g.isApp(token):
		refuse(w, http.StatusUnauthorized)
		return
	case r.PathValue("id") != installationID:
		refuse(w, http.StatusNotFound)
		return
	}
	wanted, ok := wish(r.Body)
	if !ok {
		refuse(w, http.StatusUnprocessableEntity)
		return
	}
	value, err := g.tokens.issue("ghs_", wanted, tokenLifetime)
	if err != nil {
		refuse(w, http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusCreated, map[string]any{
		"token": value, "expires_at": time.Now().Add(tokenLifetime).UTC().Format(time.RFC3339),
		"permissions": wanted.Permissions, "repositories": wanted.Repositories,
	})
}

// isApp is whether a statement proves to be the app:
// https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
func (g *github) isApp(text string) bool {
	jws, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return false
	}
	payload, err := jws.Verify(g.key)
	if err != nil {
		return false
	}
	var claims struct {
		Issuer   string `json:"iss"`
		IssuedAt int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return false
	}
	now, ends := time.Now(), time.Unix(claims.Expires, 0)
	return claims.Issuer == appID && !time.Unix(claims.IssuedAt, 0).After(now) && ends.After(now) && !ends.After(now.Add(longestClaim))
}

// wish is what a token is asked for: everything the installation may touch if nothing is said, and never more.
func wish(body io.Reader) (narrowed, bool) {
	var wanted narrowed
	if err := json.NewDecoder(body).Decode(&wanted); err != nil && !errors.Is(err, io.EOF) {
		return wanted, false
	}
	if wanted.Repositories == nil {
		wanted.Repositories = repositories
	}
	if wanted.Permissions == nil {
		wanted.Permissions = permissions
	}
	for _, each := range wanted.Repositories {
		if !slices.Contains(repositories, each) {
			return wanted, false
		}
	}
	for name, level := range wanted.Permissions {
		if at := slices.Index(levels, level); at < 0 || at > slices.Index(levels, permissions[name]) {
			return wanted, false
		}
	}
	return wanted, true
}

// use says what a token may touch.
func (g *github) use(w http.ResponseWriter, r *http.Request) {
	may, good := g.tokens.about(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !good {
		refuse(w, http.StatusUnauthorized)
		return
	}
	answer(w, http.StatusOK, may)
}

func refuse(w http.ResponseWriter, status int) {
	answer(w, status, map[string]string{"message": http.StatusText(status)})
}
