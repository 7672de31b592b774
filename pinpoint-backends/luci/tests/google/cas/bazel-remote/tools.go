//go:build tools

// Pins bazel-remote, which the tests of the client of content-addressed stores read from.
package tools

import _ "github.com/buchgr/bazel-remote/v2"
