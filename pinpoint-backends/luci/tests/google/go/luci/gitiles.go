package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"go.chromium.org/luci/common/api/gitiles"
	proto "go.chromium.org/luci/common/proto/gitiles"
)

// Sends requests for any host to the address, below /gitiles/HOST: LUCI's client asks hosts of
// googlesource.com only, and with HTTPS.
type elsewhere struct{ address *url.URL }

func (there elsewhere) RoundTrip(request *http.Request) (*http.Response, error) {
	moved := request.Clone(request.Context())
	moved.URL = there.address.JoinPath("gitiles", request.URL.Host, request.URL.EscapedPath())
	moved.URL.RawQuery = request.URL.RawQuery
	moved.Host = there.address.Host
	return http.DefaultTransport.RoundTrip(moved)
}

// Pages are short, so that there are several.
const page = 5

// Prints the commits of FROM..TO, newest first, then the file at the path.
func history(ctx context.Context, address, project, from, to, path string) error {
	there, err := url.Parse(address)
	if err != nil {
		return err
	}
	there.Path = "/"
	client, err := gitiles.NewRESTClient(&http.Client{Transport: elsewhere{there}}, "chromium.googlesource.com", true)
	if err != nil {
		return err
	}
	request := &proto.LogRequest{Project: project, Committish: to, ExcludeAncestorsOf: from, PageSize: page}
	for {
		answer, err := client.Log(ctx, request)
		if err != nil {
			return err
		}
		for _, commit := range answer.Log {
			if commit.Author.Time.AsTime().IsZero() || commit.Committer.Time.AsTime().IsZero() {
				return fmt.Errorf("%s has no time", commit.Id)
			}
			if err := show(map[string]any{
				"commit":  commit.Id,
				"tree":    commit.Tree,
				"parents": commit.Parents,
				"author":  commit.Author.Email,
				"time":    commit.Committer.Time.AsTime().Unix(),
				"message": commit.Message,
			}); err != nil {
				return err
			}
		}
		if answer.NextPageToken == "" {
			break
		}
		request.PageToken = answer.NextPageToken
	}
	file, err := client.DownloadFile(ctx, &proto.DownloadFileRequest{Project: project, Committish: to, Path: path})
	if err != nil {
		return err
	}
	return show(map[string]any{"file": file.Contents})
}
