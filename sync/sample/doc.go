// Package sample stands in for Microsoft: Entra, Graph and the Power BI REST API
// over an invented company, served by one [http.Handler] under three paths that
// take the place of three hosts. Two more paths are sign-in providers that are not
// Microsoft's: Google, and the company's own by OpenID Connect. One is a provider of
// embeddings as OpenAI is one. The product's clients know nothing of it; only
// addresses differ.
//
// What is documented of the real services is done as documented, the awkward
// parts included. The company itself is in testdata/company, DAX is computed by
// knowledge/dax/eval, and embeddings are by sync/sample/embedding.
package sample
