#!/usr/bin/python3
"""The shop: it answers each request with its configuration."""
import http.server

with open("/etc/shop.ini", encoding="utf-8") as f:
    TEXT = f.read().encode()


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        self.wfile.write(TEXT)


http.server.ThreadingHTTPServer(("", 8080), Shop).serve_forever()
