// Parses the Dockerfiles named as arguments as BuildKit does: instructions, flags, stages, and its own lint rules.
package main

import (
	"fmt"
	"os"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	tree, err := parser.Parse(file)
	if err != nil {
		return err
	}
	for _, warning := range tree.Warnings {
		fmt.Printf("%s: warning: %s\n", path, warning.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, description, url, message string, location []parser.Range) {
		fmt.Printf("%s: %s: %s\n", path, rule, message)
	}})
	stages, _, err := instructions.Parse(tree.AST, lint)
	if err != nil {
		return err
	}
	for _, stage := range stages {
		for _, command := range stage.Commands {
			fmt.Printf("%s: %s\n", stage.BaseName, command.Name())
		}
	}
	return nil
}

func main() {
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}
