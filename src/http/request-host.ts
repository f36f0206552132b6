// The host in the target or `Host` of a request, the refusal of foreign hosts, and headers that a request has once.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/errors.ts';

const hostForm = /^[\w.~:[\]%-]*$/;

/**
 * Returns whether the request has one valid host, as HTTP requires except from HTTP/1.0 clients, and not more than one
 * `Authorization`. The host becomes part of URLs in responses. Of several credentials a proxy may check others than the
 * service.
 */
export function isUnambiguous(incoming: IncomingMessage): boolean {
  if (!hostForm.test(incoming.headers.host ?? '') || !hostForm.test(hostInTarget(incoming) ?? '')) return false;
  let hosts = 0;
  let credentials = 0;
  const { rawHeaders, httpVersionMajor, httpVersionMinor } = incoming;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') credentials++;
  }
  if (credentials > 1) return false;
  return hosts === 1 || (hosts === 0 && httpVersionMajor === 1 && httpVersionMinor === 0);
}

/** Returns the host in the target, otherwise in `Host`, otherwise the local address (for HTTP/1.0 clients). */
export function hostOf(incoming: IncomingMessage): string {
  const { headers, socket } = incoming;
  const host = hostInTarget(incoming) || headers.host;
  if (host !== undefined && host !== '') return host;
  const { localAddress = '', localPort } = socket;
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`;
}

/** Returns the host of an absolute-form target (`GET http://user@host/path`), which overrides `Host` (RFC 9112). */
function hostInTarget({ url = '' }: IncomingMessage): string | undefined {
  return url.startsWith('/') ? undefined : /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(url)?.[1];
}

/** Returns the target without its query. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark === -1 ? target : target.slice(0, mark);
}

const maxShownHost = 100;

/** Returns the refusal (421) of a foreign host. */
export function misdirected(host: string): ServiceError {
  const shown = host.slice(0, maxShownHost);
  const description = `${shown} is not accepted as a name of this service; the setting allowed_hosts (SVC_ALLOWED_HOSTS) accepts more names`;
  return new ServiceError('misdirectedRequest', {
    message: `The host ${description}.`,
    details: [{ location: 'header', name: 'Host', description }],
  });
}
