// What readers of configuration files, whatever their format, hand on.

/** One setting of a file, its key as written. */
export interface FileEntry {
  readonly key: string;
  readonly text: string;
  /** `coffer.ini line 3` */
  readonly from: string;
}
