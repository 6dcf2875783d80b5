/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/tls.h"

#include "tests/apisim/text.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(int rc, const char *what)
{
	if (rc < 0)
		as_die("making a certificate: %s: %s", what, gnutls_strerror(rc));
}

static gnutls_x509_privkey_t make_key(void)
{
	gnutls_x509_privkey_t key;

	check(gnutls_x509_privkey_init(&key), "key");
	check(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
	                                   GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
	      "key");
	return key;
}

static gnutls_x509_crt_t begin_certificate(gnutls_x509_privkey_t key, const char *name,
                                           unsigned char serial)
{
	gnutls_x509_crt_t crt;
	time_t now = time(NULL);
	unsigned char number[8] = { serial };

	check(gnutls_x509_crt_init(&crt), "certificate");
	check(gnutls_x509_crt_set_version(crt, 3), "version");
	/* Two servers on one host must not share an issuer and a serial. */
	check(gnutls_rnd(GNUTLS_RND_NONCE, number + 1, sizeof(number) - 1), "random");
	check(gnutls_x509_crt_set_serial(crt, number, sizeof(number)), "serial");
	check(gnutls_x509_crt_set_activation_time(crt, now - 3600), "time");
	check(gnutls_x509_crt_set_expiration_time(crt, now + 86400), "time");
	check(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
	                                    (unsigned)strlen(name)),
	      "name");
	check(gnutls_x509_crt_set_key(crt, key), "key");
	return crt;
}

static void add_names(gnutls_x509_crt_t crt)
{
	static const char *const names[] = { "localhost", "kubernetes", "kubernetes.default",
		                                 "kubernetes.default.svc" };
	static const unsigned char v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, names[i],
		                                           (unsigned)strlen(names[i]), GNUTLS_FSAN_APPEND),
		      "name");
	check(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, v4, sizeof(v4),
	                                           GNUTLS_FSAN_APPEND),
	      "address");
	check(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, v6, sizeof(v6),
	                                           GNUTLS_FSAN_APPEND),
	      "address");
}

static char *text_of(gnutls_datum_t *pem)
{
	char *text = as_alloc(pem->size + 1);

	memcpy(text, pem->data, pem->size);
	gnutls_free(pem->data);
	return text;
}

void as_tls_make(struct as_tls *out)
{
	gnutls_x509_privkey_t ca_key, key;
	gnutls_x509_crt_t ca, crt;
	gnutls_datum_t pem;

	check(gnutls_global_init(), "start");
	ca_key = make_key();
	ca = begin_certificate(ca_key, "muster-apisim-ca", 1);
	check(gnutls_x509_crt_set_ca_status(ca, 1), "authority");
	check(gnutls_x509_crt_set_key_usage(ca, GNUTLS_KEY_KEY_CERT_SIGN), "usage");
	check(gnutls_x509_crt_sign2(ca, ca, ca_key, GNUTLS_DIG_SHA256, 0), "signature");

	key = make_key();
	crt = begin_certificate(key, "muster-apisim", 2);
	check(gnutls_x509_crt_set_ca_status(crt, 0), "authority");
	check(gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE), "usage");
	check(gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0), "purpose");
	add_names(crt);
	check(gnutls_x509_crt_sign2(crt, ca, ca_key, GNUTLS_DIG_SHA256, 0), "signature");

	check(gnutls_x509_crt_export2(ca, GNUTLS_X509_FMT_PEM, &pem), "export");
	out->ca_pem = text_of(&pem);
	check(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), "export");
	out->certificate_pem = text_of(&pem);
	check(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), "export");
	out->key_pem = text_of(&pem);
	gnutls_x509_crt_deinit(ca);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(ca_key);
	gnutls_x509_privkey_deinit(key);
}

void as_tls_free(struct as_tls *tls)
{
	free(tls->ca_pem);
	free(tls->certificate_pem);
	free(tls->key_pem);
	*tls = (struct as_tls){ 0 };
}
