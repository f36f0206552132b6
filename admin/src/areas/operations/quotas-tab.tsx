// How much of their quotas buckets and collections use, page by page.
import type { JSX } from 'preact';
import { formatCount, formatSize } from '../../core/format.ts';
import { loadPage } from '../../core/objects.ts';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { pageOf, Pager } from '../../ui/pager.tsx';
import { Empty, Loading } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import type { PageProps } from '../area.ts';
import { Freshness } from './freshness.tsx';
import { displayPath, viewOf } from './paths.ts';
import { useFresh } from './use-fresh.ts';

interface Quota {
  readonly uri: string;
  /** `null` for a collection. */
  readonly collections: number | null;
  readonly records: number;
  readonly size_bytes: number;
  readonly limits: {
    readonly max_bytes: number | null;
    readonly max_items: number | null;
    readonly max_bytes_per_item: number | null;
  };
}

const pageSize = 50;

const columns: readonly Column<Quota>[] = [
  { key: 'uri', label: 'bucket or collection', width: 200, cell: ({ uri }) => displayPath(uri) },
  {
    key: 'size',
    label: 'size',
    width: 230,
    cell: ({ uri, size_bytes: used, limits }) => (
      <Usage name={`Size of ${displayPath(uri)}`} used={used} limit={limits.max_bytes} format={formatSize} />
    ),
  },
  {
    key: 'records',
    label: 'records',
    width: 190,
    cell: ({ uri, records, limits }) => (
      <Usage name={`Records of ${displayPath(uri)}`} used={records} limit={limits.max_items} format={formatCount} />
    ),
  },
  {
    key: 'each',
    label: 'limit of one record',
    width: 130,
    cell: ({ limits: { max_bytes_per_item: limit } }) =>
      limit === null ? <span class="quiet">none</span> : formatSize(limit),
  },
  {
    key: 'collections',
    label: 'collections',
    width: 90,
    cell: ({ collections }) => (collections === null ? <span class="quiet">—</span> : formatCount(collections)),
  },
];

export function QuotasTab({ query }: PageProps): JSX.Element {
  const { api } = useApp();
  const parameters = new URLSearchParams({ _limit: String(pageSize) });
  const page = pageOf(query, parameters);
  const wanted = page.pageQuery === '' ? parameters.toString() : page.pageQuery;
  const fresh = useFresh(async (signal) => {
    const { rows, next } = await loadPage(api, 'operations/quotas', wanted, signal);
    return { rows: rows.map((row) => JSON.parse(row) as Quota), next };
  }, wanted);
  const { value } = fresh;
  return (
    <>
      <Freshness fresh={fresh} />
      {value === undefined ? (
        fresh.error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          {value.rows.length === 0 ? (
            <Empty>{value.next === undefined ? 'Nothing is stored yet.' : 'This page is empty. Go to the next.'}</Empty>
          ) : (
            <Table
              caption="quotas"
              columns={columns}
              rows={value.rows}
              idOf={({ uri }) => uri}
              hrefOf={({ uri }) => viewOf(uri)}
            />
          )}
          <Pager
            page={page}
            pageSize={pageSize}
            shown={value.rows.length}
            total={undefined}
            next={value.next}
            address={query}
            hrefOf={(next) => pageHashOf('operations', next)}
          />
        </>
      )}
    </>
  );
}

interface UsageProps {
  readonly name: string;
  readonly used: number;
  readonly limit: number | null;
  readonly format: (value: number) => string;
}

/** Share of a limit from which a quota is nearly used up. */
const nearlyFull = 0.8;

function Usage({ name, used, limit, format }: UsageProps): JSX.Element {
  if (limit === null) {
    return (
      <>
        {format(used)} <span class="quiet">(no limit)</span>
      </>
    );
  }
  return (
    <>
      <meter aria-label={name} min={0} max={limit} high={limit * nearlyFull} optimum={0} value={used} /> {format(used)}{' '}
      of {format(limit)}
    </>
  );
}
