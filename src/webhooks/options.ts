// The parameters of one webhook (`event_listeners.<name>.…`) and their validation. See docs/guides/webhooks.md.
import { duration, flag, integer, list, url, type Reader } from '../settings/readers.ts';
import { isLocalName } from './addresses.ts';

export interface WebhookOptions {
  readonly url: URL;
  /** Keys of the signatures; the first is the newest. */
  readonly keys: readonly Buffer[];
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** Age after which a failed delivery is not retried. */
  readonly maxAgeMs: number;
  /** Duration of the lease of a delivery, after which other processes may take it over. */
  readonly leaseMs: number;
  /** Interval between scans for deliveries of other processes. */
  readonly pollMs: number;
  readonly concurrency: number;
  readonly maxBodyBytes: number;
  /** Maximum number of dead letters per list. */
  readonly maxDeadLetters: number;
  readonly allowPrivate: boolean;
}

const minKeyBytes = 16;

/**
 * Reads the parameters.
 *
 * @throws Error with all problems
 */
export function readOptions(parameter: (name: string) => string | undefined): WebhookOptions {
  const problems: string[] = [];
  const read = <T>(reader: Reader<T>, name: string, byDefault: T): T => {
    const reading = reader.read(parameter(name)?.trim() ?? '');
    if (reading.kind === 'value') return reading.value;
    if (reading.kind === 'wrong') problems.push(`${name}: expected ${reading.expected}`);
    return byDefault;
  };
  const milliseconds = (name: string, bySeconds: number, min = 0.001): number =>
    Math.round(read(duration({ min, max: 2_000_000 }), name, bySeconds) * 1000);

  const address = read(url(), 'url', '');
  if (address === '' && problems.length === 0) problems.push('url: must be set');
  const keys = read(list('one or more secrets'), 'secret', []).map(parseKey);
  if (keys.length === 0) problems.push('secret: must be set, because deliveries are signed with it');
  if (keys.some((key) => key.length < minKeyBytes)) {
    problems.push(`secret: expected at least ${minKeyBytes} bytes, as text or as whsec_ with Base64`);
  }
  const timeoutMs = milliseconds('timeout', 10);
  const target = URL.canParse(address) ? new URL(address) : new URL('http://localhost');
  const options: WebhookOptions = {
    url: target,
    keys,
    timeoutMs,
    maxAttempts: read(integer({ min: 1, max: 1000 }), 'max_attempts', 15),
    retryMinMs: milliseconds('retry_min', 5),
    retryMaxMs: milliseconds('retry_max', 6 * 3600),
    maxAgeMs: milliseconds('max_age', 3 * 86_400),
    leaseMs: milliseconds('lease', (2 * timeoutMs) / 1000 + 10),
    pollMs: milliseconds('poll', 30),
    concurrency: read(integer({ min: 1, max: 100 }), 'concurrency', 4),
    maxBodyBytes: read(integer({ min: 1000 }), 'max_body_size', 1_000_000),
    maxDeadLetters: read(integer({ min: 0, max: 1_000_000 }), 'max_dead_letters', 1000),
    allowPrivate: read(flag(), 'allow_private', isLocalName(target.hostname)),
  };
  if (options.leaseMs <= timeoutMs) problems.push('lease: must be longer than timeout');
  if (problems.length > 0) throw new Error(problems.join('; '));
  return options;
}

/** Returns the key of a secret: Base64 after `whsec_` as in Standard Webhooks, or any other text unchanged. */
function parseKey(secret: string): Buffer {
  const prefix = 'whsec_';
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8');
}
