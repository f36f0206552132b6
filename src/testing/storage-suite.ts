// The storage contract as cases. A backend that passes them all may be used by the service.
import { bulkCases } from './storage/bulk.ts';
import { filterCases } from './storage/filters.ts';
import { hostileTextCases } from './storage/hostile.ts';
import { horizonCases } from './storage/horizon.ts';
import { objectCases } from './storage/objects.ts';
import { severalCases } from './storage/several.ts';
import { pageBytesCases } from './storage/page-bytes.ts';
import { lastTimestampCases } from './storage/last-timestamp.ts';
import { restoringCases } from './storage/restoring.ts';
import { sortingCases } from './storage/sorting.ts';
import { timestampCases } from './storage/timestamps.ts';
import type { StorageCase } from './contract-case.ts';

/** Each case wants an empty store of its own. */
export const storageCases: readonly StorageCase[] = [
  ...timestampCases,
  ...lastTimestampCases,
  ...objectCases,
  ...filterCases,
  ...sortingCases,
  ...bulkCases,
  ...pageBytesCases,
  ...horizonCases,
  ...severalCases,
  ...restoringCases,
  ...hostileTextCases,
];
