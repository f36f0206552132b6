// Version and home page of this software, from package.json.
import { readFileSync } from 'node:fs';

/** Default name of a service. */
export const softwareName = 'Coffer';

/** Returns the version in package.json, `1.2.3`. */
export function readVersion(): string {
  return readDescription('version') ?? '0.0.0';
}

/** Returns the URL of the documentation: `homepage` in package.json, or an empty text. */
export function readHomepage(): string {
  return readDescription('homepage') ?? '';
}

function readDescription(key: string): string | undefined {
  const description: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof description !== 'object' || description === null) return undefined;
  const value: unknown = Object.entries(description).find(([name]) => name === key)?.[1];
  return typeof value === 'string' ? value : undefined;
}
