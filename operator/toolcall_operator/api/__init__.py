"""The manifests: frozen models of every kind, the parser that judges a document, and the CRDs generated from them."""
