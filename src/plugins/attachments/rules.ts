// Rules for the files of a collection: the settings with overrides for its bucket and for itself.
import { LRUCache } from 'lru-cache';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { flag, integer, text, type Reader } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import { attachmentFamilies, attachmentSettings, overrides } from './settings.ts';

export interface FileRules {
  readonly folder: string;
  readonly keepsOldFiles: boolean;
  readonly randomizes: boolean;
  readonly pattern: string;
  /** Maximum size of a file; 0 means unlimited. */
  readonly maxSizeBytes: number;
}

export interface CollectionIds {
  readonly bucket: string;
  readonly collection: string;
}

const readers = {
  folder: text(),
  keep_old_files: flag(),
  randomize: flag(),
  filename_pattern: text(),
  max_size_bytes: integer({ min: 0 }),
} satisfies Record<(typeof overrides)[number], Reader<unknown>>;

/** Maximum number of collections with cached rules. */
const maxCached = 1000;

export class Rules {
  readonly #settings: Settings;
  readonly #known = new LRUCache<string, FileRules>({ max: maxCached });
  /** Rules without overrides. */
  readonly defaults: FileRules;

  /** @throws SettingsError with every invalid override */
  constructor(settings: Settings) {
    this.#settings = settings;
    this.defaults = this.#read(undefined);
    const problems: Problem[] = [];
    for (const key of settings.keys()) {
      const name = overrides.find((candidate) => key.endsWith(`.${candidate}`));
      if (name === undefined || !attachmentFamilies.some(({ pattern }) => pattern.test(key))) continue;
      try {
        settings.lookupWith<unknown>(readers[name], key);
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        problems.push(...error.problems);
      }
    }
    if (problems.length > 0) throw new SettingsError(problems);
  }

  of(ids: CollectionIds): FileRules {
    const key = `${ids.bucket}/${ids.collection}`;
    let rules = this.#known.get(key);
    if (rules === undefined) {
      rules = this.#read(ids);
      this.#known.set(key, rules);
    }
    return rules;
  }

  #read(ids: CollectionIds | undefined): FileRules {
    const values = this.#settings.read(attachmentSettings);
    const find = <T>(name: (typeof overrides)[number], reader: Reader<T>): T | undefined => {
      if (ids === undefined) return undefined;
      const { bucket, collection } = ids;
      const own = this.#settings.lookupWith(reader, `attachment.resources.${bucket}.${collection}.${name}`);
      return own ?? this.#settings.lookupWith(reader, `attachment.resources.${bucket}.${name}`);
    };
    return {
      folder: find('folder', readers.folder) ?? values['attachment.folder'],
      keepsOldFiles: find('keep_old_files', readers.keep_old_files) ?? values['attachment.keep_old_files'],
      randomizes: find('randomize', readers.randomize) ?? values['attachment.randomize'],
      pattern: find('filename_pattern', readers.filename_pattern) ?? values['attachment.filename_pattern'],
      maxSizeBytes: find('max_size_bytes', readers.max_size_bytes) ?? values['attachment.max_size_bytes'],
    };
  }
}
