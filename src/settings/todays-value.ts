// The text of a setting in the spelling of today: the names here in place of dotted names of the reference server.
import { policyClass } from './policy-class.ts';
import { wrapText, type Reading } from './readers.ts';
import { builtInAuthorization } from './rows/access.ts';

/** Settings that take more than one spelling of a name, of which their readers keep the one that was given. */
const names: readonly (readonly [key: RegExp, rename: (text: string) => string])[] = [
  [/^multiauth\.policy\.[^.]+\.use$/, policyClass],
  [/^event_listeners\.[^.]+\.use$/, listenerName],
  [/^multiauth\.groupfinder$/, () => 'groupfinder'],
  [/^multiauth\.authorization_policy$/, (text) => (builtInAuthorization.test(text) ? 'AuthorizationPolicy' : text)],
];

/**
 * Returns the text that means the same today.
 *
 * @param reading what the reader of the setting makes of the text; `undefined`: it has none
 */
export function currentSpelling(key: string, text: string, reading: Reading<unknown> | undefined): string {
  if (text === '') return text;
  const rename = names.find(([pattern]) => pattern.test(key))?.[1];
  if (rename !== undefined) return rename(text);
  if (reading?.kind !== 'value') return text;
  if (typeof reading.value === 'string') return wrapText(reading.value);
  const isRenamed = reading.note !== undefined && Array.isArray(reading.value);
  if (!isRenamed) return text;
  const words = (reading.value as readonly unknown[]).map(String);
  return words.every((word) => /^[^\s,[#;"]+$/.test(word)) ? words.join('\n') : JSON.stringify(words);
}

function listenerName(text: string): string {
  if (text === 'kinto_redis.listeners') return 'redis';
  return /^(?:svc|kinto\.core)\.listeners\.(\w+)$/.exec(text)?.[1] ?? text;
}
