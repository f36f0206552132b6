// The parameters of one webhook (`event_listeners.<name>.…`), read once and reported together when they are wrong. See
// docs/guides/webhooks.md.
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
  /** Age from which a failure is the last one. */
  readonly maxAgeMs: number;
  /** For how long a process that has begun a delivery keeps others from it, should it never end it. */
  readonly leaseMs: number;
  /** Between looks for what others have left. */
  readonly pollMs: number;
  readonly concurrency: number;
  readonly maxBodyBytes: number;
  /** Kept of each list. */
  readonly maxDeadLetters: number;
  readonly allowPrivate: boolean;
}

const minKeyBytes = 16;

/**
 * Reads the parameters.
 *
 * @throws Error naming everything that is wrong
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
  if (address === '' && problems.length === 0) problems.push('url: is not set');
  const keys = read(list('one or more secrets'), 'secret', []).map(parseKey);
  if (keys.length === 0) problems.push('secret: is not set; deliveries are signed with it');
  if (keys.some((key) => key.length < minKeyBytes)) {
    problems.push(`secret: expected at least ${minKeyBytes} bytes, as text, or in Base64 after whsec_`);
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

/** As the Standard Webhooks say: Base64 after `whsec_`; any other text is taken as it is. */
function parseKey(secret: string): Buffer {
  const prefix = 'whsec_';
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8');
}
