// Runs an entry of a batch like a single request, at the target of a redirect within the service.
import { Readable } from 'node:stream';
import type { Context } from '../engine/context.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import { WorkAwaited } from '../engine/work-ahead.ts';

export interface CompletedEntry {
  /** The last request, after a redirect. */
  readonly request: ServiceRequest;
  /** A body that is a stream is closed. */
  readonly response: ServiceResponse;
}

/** Runs an entry, and again at the target of a redirect. Returns instead that it needs work that is gathered. */
export async function runEntry(context: Context, first: ServiceRequest): Promise<CompletedEntry | WorkAwaited> {
  let request = first;
  try {
    let response = await context.dispatch(request);
    const target = findOwnTarget(request, response);
    if (target !== undefined) {
      request = { ...request, target };
      response = await context.dispatch(request);
    }
    if (response.body instanceof Readable) response.body.destroy();
    return { request, response };
  } catch (error) {
    if (error instanceof WorkAwaited && error.isGathered) return error;
    throw error;
  }
}

/** Returns the target of a redirect within this service; `undefined` for other responses and external redirects. */
function findOwnTarget({ origin }: ServiceRequest, { status, headers }: ServiceResponse): string | undefined {
  const location = headers['Location'];
  if (status !== 307 || typeof location !== 'string' || !location.startsWith(`${origin}/`)) return undefined;
  // A redirect that must not be stored is meant for the client.
  return headers['Cache-Control'] === 'no-store' ? undefined : location.slice(origin.length);
}
