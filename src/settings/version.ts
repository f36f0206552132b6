// What the package's own description says about this software: the one place that states its version and home page.
import { readFileSync } from 'node:fs';

/** Name of this software, where a deployment has none of its own. */
export const softwareName = 'Coffer';

/** Returns the version in package.json, `1.2.3`. */
export function readVersion(): string {
  return readDescription('version') ?? '0.0.0';
}

/** Returns the address of the project's documentation: `homepage` in package.json, or an empty text. */
export function readHomepage(): string {
  return readDescription('homepage') ?? '';
}

function readDescription(key: string): string | undefined {
  const description: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof description !== 'object' || description === null) return undefined;
  const value: unknown = Object.entries(description).find(([name]) => name === key)?.[1];
  return typeof value === 'string' ? value : undefined;
}
