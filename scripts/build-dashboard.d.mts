export function isDashboardBuilt(root?: string): boolean;
export function ensureDashboard(): Promise<void>;
