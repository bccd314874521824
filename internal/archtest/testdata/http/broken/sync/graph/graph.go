package graph

import (
	"crypto/tls"
	"net"
	"net/http"
)

type Client struct {
	http http.Client // want "net/http.Client is made here"
}

var shared http.Transport // want "net/http.Transport is made here"

func Reach() {
	_, _ = http.Get("https://graph.example")       // want "net/http.Get reaches out"
	_, _ = http.DefaultClient.Do(nil)              // want "net/http.DefaultClient reaches out"
	_ = http.DefaultTransport                      // want "net/http.DefaultTransport reaches out"
	_ = &http.Client{}                             // want "net/http.Client is made here"
	_ = new(http.Client)                           // want "net/http.Client is made here"
	_ = http.Transport{}                           // want "net/http.Transport is made here"
	_, _ = net.Dial("tcp", "graph.example:1")      // want "net.Dial reaches out"
	_, _ = tls.Dial("tcp", "graph.example:1", nil) // want "crypto/tls.Dial reaches out"
	_ = &net.Dialer{}                              // want "net.Dialer is made here"
	get := http.Get                                // want "net/http.Get reaches out"
	_, _ = get("https://graph.example")
}
