export function withLock<Result>(folder: string, work: () => Promise<Result>, onWait: () => void): Promise<Result>;
