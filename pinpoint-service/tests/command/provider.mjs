// An identity provider whose every user may sign in with any password.
//
//     PINPOINT_TEST_OIDC_PROVIDER=DIRECTORY node provider.mjs REDIRECT_URI
//
// DIRECTORY has `node_modules` with `oidc-provider`. Prints its address, and answers until it
// is ended.

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const directory = process.env.PINPOINT_TEST_OIDC_PROVIDER;
const module = join(directory, 'node_modules/oidc-provider/lib/index.js');
const { default: Provider } = await import(pathToFileURL(module));

const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    clients: [{
      client_id: 'pinpoint',
      client_secret: process.env.PINPOINT_TEST_CLIENT_SECRET,
      redirect_uris: [process.argv[2]],
    }],
    cookies: { keys: ['of a test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: true }),
    }),
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), use: 'sig', kid: 'one' }] },
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
