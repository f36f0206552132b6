// What the runner may send: requests to this service only, and which of them need a question first.
import { serviceUrl } from '../../core/api.ts';

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export interface Target {
  /** Path below the API, encoded, and its query without `?`. */
  readonly path: string;
  readonly query: string;
  readonly url: string;
}

/**
 * Returns the address that a text means: a path below the API, with or without the prefix of the version.
 *
 * @throws Error when it is not below the API of this service
 */
export function targetOf(text: string): Target {
  const prefix = new URL(serviceUrl).pathname;
  const typed = text.trim();
  const below = (typed.startsWith(prefix) ? typed.slice(prefix.length) : typed).replace(/^\/+/, '');
  // Otherwise a path such as `//other` would name another host.
  const url = new URL(`./${below}`, serviceUrl);
  url.hash = '';
  if (!url.href.startsWith(serviceUrl)) throw new Error('The path must be below the API of this service.');
  const { search } = url;
  return {
    path: `./${url.href.slice(serviceUrl.length, url.href.length - search.length)}`,
    query: search.replace(/^\?/, ''),
    url: url.href,
  };
}

const replaceable = new Map([
  ['authorization', 'Authorization'],
  ['content-type', 'Content-Type'],
]);

/**
 * Returns the headers of a text with one on each line.
 *
 * @throws Error when a line has no colon
 */
export function parseHeaders(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const mark = line.indexOf(':');
      if (mark < 1) throw new Error(`This header has no colon: ${line}. Write "Name: value".`);
      const name = line.slice(0, mark).trim();
      // These replace what the console adds, and a name in another case would be a second header.
      return [replaceable.get(name.toLowerCase()) ?? name, line.slice(mark + 1).trim()];
    }),
  );
}

/** `word`: the user types the method to confirm. `question`: the user confirms. */
export type Risk = 'none' | 'question' | 'word';

/** Returns what has to be confirmed: deletions, replacements, and requests that contain others. */
export function riskOf(method: string, encoded: string): Risk {
  const path = decodePath(encoded);
  if (method === 'DELETE' || path.includes('__flush__')) return 'word';
  const isBatch = method === 'POST' && /^(?:\.\/)?batch\/?$/.test(path);
  return method === 'PUT' || isBatch ? 'question' : 'none';
}

/** Decodes a path as the service does. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // The service refuses it.
    return path;
  }
}
