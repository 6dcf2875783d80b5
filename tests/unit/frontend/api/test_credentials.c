/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, CAs and client certificates that are rotated, or broken, while muster runs. */
#include "frontend/api/credentials.h"
#include "tests/unit/support_pair.h"
#include "tests/unit/test.h"

#include <unistd.h>

#define PEM "-----BEGIN CERTIFICATE-----\n"

/* Files in a folder of their own, a clock that stands, and what the log said last. */
static struct bench {
	char folder[40], token[64], ca[64], cert[64], key[64];
	struct access access;
	struct env env;
	struct credentials c;
	uint64_t now_ns;
	unsigned lines;
	char said[512];
} b;

static uint64_t bench_now(void *context)
{
	return b.now_ns;
}

static void bench_log(void *context, const char *level, const char *message)
{
	b.lines++;
	snprintf(b.said, sizeof(b.said), "%s: %s", level, message);
}

static void file_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

static void begin(void)
{
	b = (struct bench){ .folder = "/tmp/muster-credentials-XXXXXX", .now_ns = NS_PER_S };
	cr_assert(mkdtemp(b.folder));
	snprintf(b.token, sizeof(b.token), "%s/token", b.folder);
	snprintf(b.ca, sizeof(b.ca), "%s/ca", b.folder);
	snprintf(b.cert, sizeof(b.cert), "%s/cert", b.folder);
	snprintf(b.key, sizeof(b.key), "%s/key", b.folder);
	b.env = (struct env){ .monotonic_ns = bench_now, .log = bench_log };
}

static void end(void)
{
	credentials_free(&b.c);
	unlink(b.token);
	unlink(b.ca);
	unlink(b.cert);
	unlink(b.key);
	cr_assert_eq(rmdir(b.folder), 0);
}

TestSuite(credentials, .fini = end);

static void begin_with_token(void)
{
	begin();
	file_write(b.token, "one\n");
	b.access.token_file = b.token;
	credentials_init(&b.c, &b.access, &b.env);
	cr_assert_str_eq(b.c.authorization, "Authorization: Bearer one");
}

Test(credentials, a_token_is_read_again_after_a_minute)
{
	uint64_t generation;

	begin_with_token();
	generation = b.c.token_generation;
	file_write(b.token, "two\n");
	b.now_ns += 60 * NS_PER_S;
	credentials_refresh(&b.c);
	cr_assert_str_eq(b.c.authorization, "Authorization: Bearer one", "too early");
	b.now_ns++;
	credentials_refresh(&b.c);
	cr_assert_str_eq(b.c.authorization, "Authorization: Bearer two");
	cr_assert_eq(b.c.token_generation, generation + 1);
	credentials_renew(&b.c);
	cr_assert_eq(b.c.token_generation, generation + 1, "the same one");
}

/* The one that was good goes on, and the operator hears of it, but not at each request. */
Test(credentials, a_token_that_is_gone_or_empty_leaves_the_last_one)
{
	begin_with_token();
	unlink(b.token);
	credentials_renew(&b.c);
	cr_assert_str_eq(b.c.authorization, "Authorization: Bearer one");
	cr_assert(strstr(b.said, "warn: ") && strstr(b.said, b.token) &&
	              strstr(b.said, "No such file or directory; going on with the last token"),
	          "%s", b.said);
	file_write(b.token, "\n");
	credentials_renew(&b.c);
	cr_assert_str_eq(b.c.authorization, "Authorization: Bearer one");
	cr_assert(strstr(b.said, "the file is empty"), "%s", b.said);
	for (int i = 0; i < 100; i++)
		credentials_renew(&b.c);
	cr_assert_eq(b.lines, 10);
	cr_assert_eq(b.c.token_generation, 1);
}

Test(credentials, without_files_nothing_is_read_again)
{
	begin();
	b.access.token = (char *)(uintptr_t) "fixed";
	b.access.ca = (struct blob){ .at = (char *)(uintptr_t)PEM, .bytes = strlen(PEM) };
	credentials_init(&b.c, &b.access, &b.env);
	b.now_ns += 3600 * NS_PER_S;
	credentials_refresh(&b.c);
	credentials_renew(&b.c);
	credentials_distrusted(&b.c);
	cr_assert_str_eq(b.c.authorization, "Authorization: Bearer fixed");
	cr_assert_eq(credentials_ca(&b.c), &b.access.ca);
	cr_assert_null(credentials_cert(&b.c)->at);
	cr_assert_eq(b.c.tls_generation, 0);
	cr_assert_eq(b.lines, 0, "%s", b.said);
}

/* As it is on disk when a connection was not trusted; half a file changes nothing. */
Test(credentials, another_ca_is_trusted_and_a_broken_one_is_not)
{
	begin();
	file_write(b.ca, PEM);
	b.access.ca = (struct blob){ .at = (char *)(uintptr_t)PEM, .bytes = strlen(PEM) };
	b.access.ca_file = b.ca;
	credentials_init(&b.c, &b.access, &b.env);
	credentials_distrusted(&b.c);
	cr_assert_eq(credentials_ca(&b.c), &b.access.ca, "the same one");
	cr_assert_eq(b.c.tls_generation, 0);
	for (unsigned turn = 1; turn <= 2; turn++) {
		file_write(b.ca, turn == 1 ? PEM PEM : PEM PEM PEM);
		credentials_distrusted(&b.c);
		cr_assert_str_eq(credentials_ca(&b.c)->at, turn == 1 ? PEM PEM : PEM PEM PEM);
		cr_assert_eq(b.c.tls_generation, turn);
		cr_assert_eq(b.c.pair_generation, 0, "nobody has to come again for it");
		cr_assert(strstr(b.said, "info: ") && strstr(b.said, b.ca), "%s", b.said);
	}
	file_write(b.ca, "half a fi");
	credentials_distrusted(&b.c);
	unlink(b.ca);
	credentials_distrusted(&b.c);
	cr_assert_str_eq(credentials_ca(&b.c)->at, PEM PEM PEM);
	cr_assert_eq(b.c.tls_generation, 2);
}

/* Its two files change one after the other: in between, the last pair holds whole. */
Test(credentials, a_pair_is_taken_whole_or_not_at_all)
{
	char *cert, *key;

	begin();
	pair_write(b.cert, b.key);
	b.access.cert_file = b.cert;
	b.access.key_file = b.key;
	credentials_init(&b.c, &b.access, &b.env);
	credentials_renew(&b.c);
	cr_assert_eq(b.c.pair_generation, 1);
	cert = strdup(credentials_cert(&b.c)->at);
	key = strdup(credentials_key(&b.c)->at);
	pair_write(NULL, b.key);
	credentials_renew(&b.c);
	cr_assert_str_eq(credentials_cert(&b.c)->at, cert);
	cr_assert_str_eq(credentials_key(&b.c)->at, key);
	cr_assert_eq(b.c.pair_generation, 1);
	cr_assert(strstr(b.said, "warn: ") && strstr(b.said, "going on with the last one"), "%s",
	          b.said);
	pair_write(b.cert, b.key);
	credentials_distrusted(&b.c);
	cr_assert_eq(b.c.pair_generation, 2);
	cr_assert_eq(b.c.tls_generation, 2);
	cr_assert(strcmp(credentials_cert(&b.c)->at, cert) != 0 &&
	          strcmp(credentials_key(&b.c)->at, key) != 0);
	free(cert);
	free(key);
}
