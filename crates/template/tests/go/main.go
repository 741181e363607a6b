// Executes templates by Go's text/template, for the comparison in go.rs.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"text/template"
)

type request struct {
	Text, Left, Right string
	Strict            bool
	Data              any
}

type answer struct {
	Ok     bool   `json:"ok"`
	Output string `json:"output"`
	Why    string `json:"why"`
}

// Numbers without a fraction are integers, and slices have no room beyond their end.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		f, _ := v.Float64()
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = exact(v[i])
		}
		return out
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}

func run(r request) answer {
	t := template.New("the main one").Delims(r.Left, r.Right)
	if r.Strict {
		t = t.Option("missingkey=error")
	}
	t, err := t.Parse(r.Text)
	if err != nil {
		return answer{Why: err.Error()}
	}
	var out bytes.Buffer
	if err := t.Execute(&out, exact(r.Data)); err != nil {
		return answer{Why: err.Error()}
	}
	return answer{Ok: true, Output: out.String()}
}

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	var requests []request
	if err := decoder.Decode(&requests); err != nil {
		panic(err)
	}
	answers := []answer{}
	for _, r := range requests {
		answers = append(answers, run(r))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
