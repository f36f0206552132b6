// The areas of the console, one row each. The frame derives tabs, pages, the sidebar and the quick search from this list.
import type { Area, Command, Page, Tab, ViewLink } from './area.ts';
import { accountsArea } from './accounts/index.ts';
import { attributesArea } from './attributes/index.ts';
import { bucketsArea } from './buckets/index.ts';
import { developerArea } from './developer/index.ts';
import { filesArea } from './files/index.ts';
import { groupsArea } from './groups/index.ts';
import { historyArea } from './history/index.ts';
import { indexesArea } from './indexes/index.ts';
import { operationsArea } from './operations/index.ts';
import { permissionsArea } from './permissions/index.ts';
import { recordsArea } from './records/index.ts';
import { schemaArea } from './schema/index.ts';
import { transferArea } from './transfer/index.ts';
import { reviewArea } from './review/index.ts';

const areas: readonly Area[] = [
  bucketsArea,
  recordsArea,
  attributesArea,
  filesArea,
  schemaArea,
  indexesArea,
  transferArea,
  reviewArea,
  groupsArea,
  permissionsArea,
  historyArea,
  accountsArea,
  operationsArea,
  developerArea,
];

export const tabs: readonly Tab[] = areas.flatMap((area) => area.tabs ?? []).toSorted((a, b) => a.order - b.order);
export const pages: readonly Page[] = areas.flatMap((area) => area.pages ?? []).toSorted((a, b) => a.order - b.order);
export const commands: readonly Command[] = areas.flatMap((area) => area.commands ?? []);
export const viewLinks: readonly ViewLink[] = areas.flatMap((area) => area.viewLink ?? []);
