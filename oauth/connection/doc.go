// Package connection is a person's Power BI connection: the account under whose
// rights their queries run. Connecting goes like this:
//
//	GET /api/v1/me/connection/start?next=/…   keeps a state for this session, sends the browser to Entra
//	GET /api/connect/callback                 takes the state, redeems the code, verifies the ID token,
//	                                          seals the tokens into the person's row, reads the
//	                                          account's groups, sends the browser on
//
// Tokens are sealed for the api's identity, and opened for each query: nothing of
// them is kept in memory, so what the row says is what counts. Whose account it is
// gives a person neither a role nor membership (package signin); its groups decide
// what of Power BI they see, for as long as the connection stands.
package connection
