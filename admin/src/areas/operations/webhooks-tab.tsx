// The webhooks with their queues, and the failed deliveries of one of them.
import type { JSX } from 'preact';
import { formatCount } from '../../core/format.ts';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { Empty, Loading } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import type { PageProps } from '../area.ts';
import { FailedDeliveries } from './failed-deliveries.tsx';
import { Freshness } from './freshness.tsx';
import { useFresh } from './use-fresh.ts';

interface Webhook {
  readonly name: string;
  /** `null` if it is not a valid address. */
  readonly url: string | null;
  /** Number of deliveries that wait for an attempt. */
  readonly pending: number;
  readonly failed: number;
}

const columns: readonly Column<Webhook>[] = [
  { key: 'name', label: 'webhook', width: 160, cell: ({ name }) => name },
  { key: 'url', label: 'address', width: 360, cell: ({ url }) => <code title={url ?? ''}>{url ?? '—'}</code> },
  { key: 'pending', label: 'waiting', width: 90, cell: ({ pending }) => formatCount(pending) },
  {
    key: 'failed',
    label: 'failed',
    width: 90,
    cell: ({ failed }) => (failed === 0 ? '0' : <span class="badge bad">{formatCount(failed)}</span>),
  },
];

export function WebhooksTab({ query }: PageProps): JSX.Element {
  const { api } = useApp();
  const fresh = useFresh(async (signal) => {
    const { text } = await api.request('GET', 'operations/webhooks', { signal });
    return (JSON.parse(text) as { readonly data: readonly Webhook[] }).data;
  }, 'webhooks');
  const webhooks = fresh.value;
  const named = query.get('_webhook');
  // Without a choice, the first one that needs attention.
  const chosen =
    webhooks?.find(({ name }) => name === named) ?? webhooks?.find(({ failed }) => failed > 0) ?? webhooks?.[0];
  return (
    <>
      <Freshness fresh={fresh} />
      {webhooks === undefined ? (
        fresh.error === undefined ? (
          <Loading />
        ) : null
      ) : webhooks.length === 0 ? (
        <Empty>
          No webhooks are configured. The setting <code>event_listeners</code> names them.
        </Empty>
      ) : (
        <Table
          caption="webhooks"
          columns={columns}
          rows={webhooks}
          idOf={({ name }) => name}
          hrefOf={({ name }) => pageHashOf('operations', { _tab: 'webhooks', _webhook: name })}
        />
      )}
      {chosen === undefined ? null : (
        <FailedDeliveries
          key={chosen.name}
          webhook={chosen.name}
          failed={chosen.failed}
          query={query}
          onChange={fresh.reload}
        />
      )}
    </>
  );
}
