// The error of a line that cannot be read.

/** A line that does not belong to an export, or whose contents cannot be stored. */
export class BrokenLine extends Error {}
