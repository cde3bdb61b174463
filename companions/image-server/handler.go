// What can be fetched: the image under its name, with ranges, and /info. Everything else is not found.
package main

import (
	"encoding/json"
	"log"
	"net/http"
)

const infoPath = "/info"

// The environment of the image; the importer makes labels of it.
type serverInfo struct {
	Env []string `json:"env"`
}

type handler struct {
	image *image
	info  []byte
}

func newHandler(image *image, env []string) *handler {
	info, err := json.Marshal(serverInfo{Env: env})
	if err != nil {
		panic(err) // a list of strings always has a JSON
	}
	return &handler{image: image, info: info}
}

// ServeHTTP compares whole paths: there is no directory here to get out of.
func (h *handler) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	isInfo := request.URL.Path == infoPath
	if !isInfo && request.URL.Path != "/"+h.image.name {
		http.Error(answer, "not found", http.StatusNotFound)
		return
	}
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		answer.Header().Set("Allow", "GET, HEAD")
		http.Error(answer, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	if isInfo {
		answer.Header().Set("Content-Type", "application/json")
		answer.Write(h.info)
		return
	}
	h.serveImage(answer, request)
}

func (h *handler) serveImage(answer http.ResponseWriter, request *http.Request) {
	file, err := h.image.open()
	if err != nil {
		log.Print(err)
		http.Error(answer, "the disk image cannot be read", http.StatusInternalServerError)
		return
	}
	defer file.Close()
	answer.Header().Set("Content-Type", "application/octet-stream")
	answer.Header().Set("ETag", h.image.etag())
	http.ServeContent(answer, request, "", h.image.info.ModTime(), file)
}
