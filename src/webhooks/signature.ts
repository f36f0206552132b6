// Signatures of deliveries, as the Standard Webhooks define them, so that receivers find verification ready-made.
import { createHmac } from 'node:crypto';

export interface Signed {
  /** Id of the delivery, the same for each attempt. */
  readonly id: string;
  /** Milliseconds since 1970 UTC of this attempt. */
  readonly now: number;
  readonly body: string;
}

/** Headers that name a delivery and prove who sent it and when: HMAC-SHA256 of `<id>.<seconds>.<body>`, once for each key. */
export function signatureHeaders(
  { id, now, body }: Signed,
  keys: readonly Buffer[],
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(now / 1000));
  const signatures = keys.map((key) => {
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    return `v1,${digest}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
