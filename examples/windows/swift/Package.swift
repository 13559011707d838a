// swift-tools-version:5.7
// SPDX-License-Identifier: Apache-2.0
// Not built by MemHawk's tests: no Swift compiler in Debian 12. See docs/WINDOWS.md.
import PackageDescription

let package = Package(
    name: "memhawk-example",
    dependencies: [
        .package(url: "https://github.com/ordo-one/package-benchmark", from: "1.0.0")
    ],
    targets: [
        .systemLibrary(name: "CMemHawk"),
        .executableTarget(
            name: "Parse",
            dependencies: ["CMemHawk", .product(name: "Benchmark", package: "package-benchmark")],
            path: "Benchmarks/Parse",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "package-benchmark")])
    ])
