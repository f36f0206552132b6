// Signed URLs of files that work without credentials for a short time, for `<img>` and `<a>`, where browsers send none.
// A URL is valid until it expires or the record gets another file.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { FileOfRecord } from './references.ts';

export interface UrlSigner {
  /** Returns the query of a URL with its question mark, and its expiry in milliseconds since 1970 UTC. */
  sign(file: FileOfRecord): { readonly search: string; readonly expires: number };
  /** Returns whether the query was signed for the file and has not expired. */
  verify(file: FileOfRecord, query: Query): boolean;
}

type Query = readonly (readonly [name: string, value: string])[];

const names = ['expires', 'signature'] as const;

/** Returns whether a request has a signature, valid or not. If so, its credentials are ignored. */
export function isSigned(query: Query): boolean {
  return query.some(([name]) => name === 'expires' || name === 'signature');
}

export interface UrlSignerOptions {
  /** Secret of the service, from which the key is derived. */
  readonly secret: string;
  readonly lifetimeSeconds: number;
  readonly clock: Clock;
}

export function createUrlSigner({ secret, lifetimeSeconds, clock }: UrlSignerOptions): UrlSigner {
  const key = createHmac('sha256', secret).update('addresses of attachments').digest();
  const signatureOf = ({ ownerUri, location }: FileOfRecord, expires: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([ownerUri, location, expires]))
      .digest();
  return {
    sign(file) {
      const expires = clock.now() + lifetimeSeconds * 1000;
      const signature = signatureOf(file, String(expires)).toString('base64url');
      return { search: `?expires=${expires}&signature=${signature}`, expires };
    },
    verify(file, query) {
      const [expires, signature] = names.map((name) => findOnly(query, name));
      if (expires === undefined || signature === undefined || !/^\d{1,16}$/.test(expires)) return false;
      const given = Buffer.from(signature, 'base64url');
      const expected = signatureOf(file, expires);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
      // A URL signed with a longer lifetime follows the current setting.
      const left = Number(expires) - clock.now();
      return left > 0 && left <= lifetimeSeconds * 1000;
    },
  };
}

/** Returns the value of a parameter that appears exactly once. */
function findOnly(query: Query, name: string): string | undefined {
  const values = query.filter(([each]) => each === name);
  return values.length === 1 ? values[0]![1] : undefined;
}
