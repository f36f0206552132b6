// Typical mixed load: mostly reads and polls, some writes, and a few batches and deletions. No request may fail, in any
// order.
import { attributes, bucket, recordId, records } from './data.mjs';

const path = `/v1${records}`;
// Created and deleted objects have a separate list, so no request is for a deleted object.
const brief = `${bucket}/collections/list0/records`;

/** Returns requests in a fixed, seemingly random order. @param {number} size records in the list @returns {import('./load.mjs').Request[]} */
export function mixedRequests(size) {
  // An instant one hour ahead, so the poll returns nothing.
  const since = encodeURIComponent(`"${Date.now() + 3_600_000}"`);
  const body = JSON.stringify({ data: attributes(1) });
  const batch = Array.from({ length: 10 }, () => ({ method: 'POST', path: brief, body: { data: attributes(1) } }));
  return Array.from({ length: 500 }, (_, n) => {
    const kind = (n * 37) % 100;
    const id = recordId((n * 104_729) % size);
    if (kind < 50) return { path: `${path}/${id}` };
    if (kind < 70) return { path: `${path}?_since=${since}` };
    if (kind < 80) return { path: `${path}?_limit=50` };
    if (kind < 83) return { method: 'HEAD', path: `${path}?_limit=1` };
    if (kind < 93) return { method: 'POST', path: `/v1${brief}`, body };
    if (kind < 97) return { method: 'PUT', path: `${path}/${id}`, body };
    if (kind < 98) return { method: 'POST', path: '/v1/batch', body: JSON.stringify({ requests: batch }) };
    // As many deletions as creates.
    return { method: 'DELETE', path: `/v1${brief}?_limit=10` };
  });
}
