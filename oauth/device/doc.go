// Package device lets in a program that has no browser (RFC 8628): the command
// line. The program asks for two codes, shows the short one, and polls with the
// long one at the token endpoint (package provider). Meanwhile a person types the
// short one at the /device screen, sees when and where the program asked, and says
// yes or no.
//
//	open ──answer──► allowed ──poll──► used
//	 │         └───► denied
//	 └─10 minutes─► expired
//
// Whoever answers first has answered. Nothing in an address or in a request binds
// a code to a person beforehand, since the danger of this flow is somebody who is
// talked into typing a stranger's code.
package device
