//go:build tools

// Package tools names the engine's command, so that `go mod tidy` keeps its modules and `go build` can make it.
package tools

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
