// The version of this software, read from the one place that states it.
import { readFileSync } from 'node:fs';

/** The version in the package's own description, `1.2.3`. */
export function readVersion(): string {
  const description: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const isKnown = typeof description === 'object' && description !== null && 'version' in description;
  return isKnown && typeof description.version === 'string' ? description.version : '0.0.0';
}
