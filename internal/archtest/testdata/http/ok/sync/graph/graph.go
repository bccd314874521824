package graph

import (
	"context"
	"net/http"
)

type Client struct{ http *http.Client }

func (c *Client) Get(ctx context.Context) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://graph.example", nil)
	if err != nil {
		return nil, err
	}
	return c.http.Do(r)
}

func Handler() http.Handler { return http.NotFoundHandler() }

// Posted has the name of a function that reaches out, and does not.
func Posted(r *http.Request) string { return r.PostForm.Get("name") }
