/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_pair.h"
#include "tests/unit/test.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

static void text_write(const char *path, gnutls_datum_t *text)
{
	FILE *f = path ? fopen(path, "w") : NULL;

	if (path)
		cr_assert(f && fwrite(text->data, 1, text->size, f) == text->size && fclose(f) == 0);
	gnutls_free(text->data);
}

void pair_write(const char *cert_path, const char *key_path)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t cert;
	gnutls_datum_t text;

	cr_assert(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&cert) == 0);
	cr_assert_eq(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
	                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
	             0);
	cr_assert(gnutls_x509_crt_set_key(cert, key) == 0 &&
	          gnutls_x509_crt_set_version(cert, 3) == 0 &&
	          gnutls_x509_crt_set_serial(cert, "\1", 1) == 0);
	gnutls_x509_crt_set_activation_time(cert, time(NULL));
	gnutls_x509_crt_set_expiration_time(cert, time(NULL) + 3600);
	cr_assert_eq(gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0), 0);
	cr_assert_eq(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &text), 0);
	text_write(cert_path, &text);
	cr_assert_eq(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text), 0);
	text_write(key_path, &text);
	gnutls_x509_crt_deinit(cert);
	gnutls_x509_privkey_deinit(key);
}
