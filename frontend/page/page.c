/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/page/page.h"

#include "frontend/base/bytes.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A file, into read-only data. */
#define ASSET(name, file)                                                                          \
	__asm__(".pushsection .rodata\n"                                                               \
	        ".global muster_page_" #name "\n"                                                      \
	        "muster_page_" #name ":\n"                                                             \
	        ".incbin \"frontend/page/" file "\"\n"                                                 \
	        ".byte 0\n"                                                                            \
	        ".popsection\n");                                                                      \
	extern const char muster_page_##name[]

ASSET(html, "page.html");
ASSET(style, "page.css");
ASSET(base, "base.js");
ASSET(tiles, "tiles.js");
ASSET(map, "map.js");
ASSET(queue, "queue.js");
ASSET(queues, "queues.js");
ASSET(gang, "gang.js");
ASSET(node, "node.js");
ASSET(main, "main.js");

static struct page page;

/* 'sha256-...' of a text. */
static void hash(const char *text, size_t bytes, char out[64])
{
	unsigned char digest[32];
	gnutls_datum_t data = { .data = digest, .size = sizeof(digest) }, base64;

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, bytes, digest) < 0 ||
	    gnutls_base64_encode2(&data, &base64) < 0)
		fatal_memory();
	snprintf(out, 64, "'sha256-%.*s'", (int)base64.size, (const char *)base64.data);
	gnutls_free(base64.data);
}

/* page.html up to the end of a tag; then the texts, whose hash is `out`.  Returns the rest. */
static const char *insert(struct bytes *b, const char *html, const char *tag,
                          const char *const *texts, char out[64])
{
	const char *at = strstr(html, tag);
	size_t from;

	if (!at)
		fatal_memory(); /* the build is broken: a test reads the page */
	at += strlen(tag);
	bytes_add(b, html, (size_t)(at - html));
	from = b->n;
	for (; *texts; texts++)
		bytes_put(b, *texts);
	hash(b->at + from, b->n - from, out);
	return at;
}

static void make(void)
{
	static const char *const styles[] = { muster_page_style, NULL };
	static const char *const scripts[] = { muster_page_base,  muster_page_tiles,  muster_page_map,
		                                   muster_page_queue, muster_page_queues, muster_page_gang,
		                                   muster_page_node,  muster_page_main,   NULL };
	char script[64], style[64];
	struct bytes b = { 0 };
	const char *rest = insert(&b, muster_page_html, "<style>", styles, style);

	rest = insert(&b, rest, "<script>", scripts, script);
	bytes_put(&b, rest);
	page.html = b.at; /* for as long as the process */
	page.bytes = b.n;
	snprintf(
		page.policy, sizeof(page.policy),
		"default-src 'none'; script-src %s; style-src %s; connect-src 'self'; img-src data:; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'",
		script, style);
}

const struct page *page_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make);
	return &page;
}
