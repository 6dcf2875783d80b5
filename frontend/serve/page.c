/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/page.h"

#include "frontend/base/log.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The file, into read-only data. */
__asm__(".pushsection .rodata\n"
        ".global muster_page_html\n"
        ".global muster_page_html_end\n"
        "muster_page_html:\n"
        ".incbin \"frontend/serve/page.html\"\n"
        "muster_page_html_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char muster_page_html[], muster_page_html_end[];

static struct page page;

/* 'sha256-...' of the text between two tags. */
static void hash_part(const char *open, const char *close, char out[64])
{
	const char *from = strstr(page.html, open), *to;
	unsigned char digest[32];
	gnutls_datum_t text = { .data = digest, .size = sizeof(digest) }, base64;

	out[0] = '\0';
	if (from == NULL || (to = strstr(from, close)) == NULL)
		return;
	from += strlen(open);
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, from, (size_t)(to - from), digest) < 0 ||
	    gnutls_base64_encode2(&text, &base64) < 0)
		fatal_memory();
	snprintf(out, 64, "'sha256-%.*s'", (int)base64.size, (const char *)base64.data);
	gnutls_free(base64.data);
}

static void make(void)
{
	char script[64], style[64];

	page.html = muster_page_html;
	page.bytes = (size_t)(muster_page_html_end - muster_page_html);
	hash_part("<script>", "</script>", script);
	hash_part("<style>", "</style>", style);
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
