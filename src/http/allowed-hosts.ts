// Accepted host names of requests. A foreign site can let its name resolve to the address of this machine (DNS rebinding), so
// that browsers treat page and service as one site. The check of the host name prevents that.
import { isIP } from 'node:net';

/** Whether a host with or without port, as in a `Host` header, is accepted. */
export type IsAllowedHost = (host: string) => boolean;

/**
 * Compiles `allowed_hosts`.
 *
 * @param entries names, IP addresses, `*.example.org` for all subdomains, `loopback` for loopback names, `*` for any host
 * @param own further accepted hosts, with or without port
 * @returns `undefined` when all hosts are accepted
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
  // Nearly all requests have the same host as the previous one.
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
 * Returns a host without port in normal form: lower case, IP addresses in their shortest spelling, no trailing dot;
 * `undefined` for an invalid host.
 */
function hostName(host: string): string | undefined {
  const url = `http://${host}/`;
  if (!/^[\w.~:[\]-]+$/.test(host) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** Whether the host of a URL is a loopback address or name; names below `localhost` are too (RFC 6761). */
export function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name === '[::1]' || name.endsWith('.localhost')) return true;
  return isIP(name) === 4 && name.startsWith('127.');
}
