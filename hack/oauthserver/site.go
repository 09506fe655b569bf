package main

import (
	"net/http"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// site is everybody, by the paths at which they stand.
type site struct {
	origin   string
	provider *provider
	servers  map[string]*authorizationServer
	metadata map[string]*authorizationServer // what is answered for an issuer's path; one path tells of somebody else
	guarded  map[string]resource
	github   *github
	ledger   *ledger
	wire     *wire
}

// resource is what a resource says of itself, true or not.
type resource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
}

const (
	providerPath = "/idp"
	serverPath   = "/as"
	evilPath     = "/evil"     // an authorization server like the other, which nobody should trust
	impostorPath = "/impostor" // an issuer whose metadata is that of another
	honestPath   = "/api/honest"

	tokenPath, keysPath = "/token", "/keys" // behind the path of each
)

func newSite(origin, appKey string) (*site, error) {
	github, err := newGitHub(appKey)
	if err != nil {
		return nil, err
	}
	provider, err := newProvider(origin + providerPath)
	if err != nil {
		return nil, err
	}
	s := &site{origin: origin, provider: provider, github: github, ledger: newLedger(), wire: &wire{}}
	server, evil := newAuthorizationServer(origin+serverPath, provider), newAuthorizationServer(origin+evilPath, provider)
	s.servers = map[string]*authorizationServer{serverPath: server, evilPath: evil}
	s.metadata = map[string]*authorizationServer{serverPath: server, evilPath: evil, impostorPath: server}
	honest := origin + honestPath
	s.guarded = map[string]resource{
		honestPath:       {honest, []string{evil.issuer, server.issuer}},
		"/api/another":   {honest, []string{server.issuer}},
		"/api/untrusted": {origin + "/api/untrusted", []string{evil.issuer}},
		"/api/impostor":  {origin + "/api/impostor", []string{origin + impostorPath}},
	}
	return s, nil
}

// introduction is what whoever started the program has to know.
func (s *site) introduction(admin string) map[string]string {
	return map[string]string{
		"origin": s.origin, "admin": admin, "client_id": clientID, "client_secret": clientSecret,
		"app_id": appID, "installation_id": installationID,
	}
}

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(providerPath+"/", http.StripPrefix(providerPath, register(s.provider)))
	for path, server := range s.servers {
		mux.Handle(path+"/", http.StripPrefix(path, register(server)))
	}
	mux.Handle("/.well-known/", op.RegisterMetadataServer(&metadata{site: s}))
	mux.HandleFunc("GET "+protectedResource+"/", s.describe)
	mux.HandleFunc("GET /api/", s.use)
	mux.Handle("/github/", http.StripPrefix("/github", s.github.handler()))
	return s.wire.tap(s.ledger.watch(mux))
}

func register(server op.Server) http.Handler {
	return op.RegisterServer(server, op.Endpoints{Token: op.NewEndpoint(tokenPath), JwksURI: op.NewEndpoint(keysPath)})
}

func init() {
	oidc.AllTokenTypes = append(oidc.AllTokenTypes, assertionType)
}
