#import <Metal/Metal.h>

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";
NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSErrorDomain const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";
NSErrorDomain const MTLCounterErrorDomain = @"MTLCounterErrorDomain";
NSErrorDomain const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";
MTLCommonCounter MTLCommonCounterTimestamp = @"GPUTimestamp";
MTLCommonCounterSet MTLCommonCounterSetTimestamp = @"timestamp";
