// The host names that requests may give for this service. A page of a foreign site can make its own name resolve to the
// address of this machine (DNS rebinding); the browser then takes page and service for one site. The name gives it away.
import { isIP } from 'node:net';

/** Whether a host, as it stands in a `Host` header with or without port, is a name of this service. */
export type IsAllowedHost = (host: string) => boolean;

/**
 * Compiles `allowed_hosts`.
 *
 * @param entries names, IP addresses, `*.example.org` for every name below that one, `loopback` for the names of the
 *   machine itself, `*` for every name
 * @param own further hosts that are always accepted, with or without port
 * @returns `undefined` when every host is accepted
 */
export function compileAllowedHosts(entries: readonly string[], own: readonly string[]): IsAllowedHost | undefined {
  if (entries.includes('*')) return undefined;
  const hasLoopback = entries.includes('loopback');
  const names = new Set<string>();
  const endings: string[] = [];
  for (const entry of [...entries.filter((each) => each !== 'loopback'), ...own]) {
    const isWild = entry.startsWith('*.');
    const name = hostName(isWild ? entry.slice(2) : isIP(entry) === 6 ? `[${entry}]` : entry);
    if (name === undefined) continue;
    if (isWild) endings.push(`.${name}`);
    else names.add(name);
  }
  // Nearly all requests give the same host as the one before.
  let lastAllowed: string | undefined;
  return (host) => {
    if (host === lastAllowed) return true;
    const name = hostName(host);
    if (name === undefined) return false;
    const isAllowed =
      names.has(name) || (hasLoopback && isLoopbackName(name)) || endings.some((ending) => name.endsWith(ending));
    if (isAllowed) lastAllowed = host;
    return isAllowed;
  };
}

/**
 * Returns a host without its port and in the form that browsers give to hosts: lower case, IP addresses in their
 * shortest spelling, no point at the end. `undefined` for what is no host.
 */
function hostName(host: string): string | undefined {
  const url = `http://${host}/`;
  if (!/^[\w.~:[\]-]+$/.test(host) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** Names below `localhost` belong to the machine as well (RFC 6761). */
function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name === '[::1]' || name.endsWith('.localhost')) return true;
  return isIP(name) === 4 && name.startsWith('127.');
}
